# To be sourced: where the PyTorch of the tests is, and which.

torch_version=2.13.0
bitsandbytes_version=0.50.2
transformers_version=5.17.0
peft_version=0.21.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nf4bench/torch-$torch_version-$bitsandbytes_version
models=$cache/transformers-$transformers_version-$peft_version
python=${NF4BENCH_PYTHON:-/usr/bin/python3}
