#include "text/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace nf4bench {
namespace {

// `time_s`, in the unit that fits it best.
std::string alone(double time_s) {
  return text::format_time(time_s, text::time_scale({time_s}));
}

TEST(Units, GiveTimesFourSignificantDigits) {
  EXPECT_EQ(alone(843.76e-9), "843.8 ns");
  EXPECT_EQ(alone(1.0e-6), "1.000 us");
  EXPECT_EQ(alone(36.52e-6), "36.52 us");
  EXPECT_EQ(alone(201.24e-6), "201.2 us");
  EXPECT_EQ(alone(4.5671e-3), "4.567 ms");
  EXPECT_EQ(alone(12.3456), "12.35 s");
  EXPECT_EQ(alone(12345.6), "12346 s");
}

TEST(Units, KeepTheDigitsOfTheShortestTime) {
  const text::TimeScale scale = text::time_scale({5.012e-3, 36.52e-6, 200e-6});
  EXPECT_EQ(text::format_time(36.52e-6, scale), "36.52 us");
  EXPECT_EQ(text::format_time(5.012e-3, scale), "5012.00 us");
}

TEST(Units, PreferTheUnitOfLongTimesWhereShortOnesAreNearIt) {
  const text::TimeScale scale = text::time_scale({18.06e-6, 843.7e-9});
  EXPECT_EQ(text::format_time(843.7e-9, scale), "0.844 us");
  EXPECT_EQ(text::format_time(18.06e-6, scale), "18.060 us");
}

TEST(Units, SurviveNoTimeAndTimesOfZero) {
  EXPECT_EQ(text::format_time(1.5, text::time_scale({})), "1.500 s");
  EXPECT_EQ(alone(0.0), "0.000 ns");
}

TEST(Units, WriteRatesInDecimalGigabytes) {
  EXPECT_EQ(text::format_gigabytes(4.0684e12), "4068");
  EXPECT_EQ(text::format_gigabytes(73.44e9), "73.4");
  EXPECT_EQ(text::format_gigabytes(0.812e9), "0.81");
}

TEST(Units, WriteRatiosWithFourDigits) {
  EXPECT_EQ(text::format_ratio(0.0524), "0.052x");
  EXPECT_EQ(text::format_ratio(1.0), "1.000x");
  EXPECT_EQ(text::format_ratio(3.3706), "3.371x");
  EXPECT_EQ(text::format_ratio(12.346), "12.35x");
  EXPECT_EQ(text::format_ratio(123.46), "123.5x");
  EXPECT_EQ(text::format_ratio_interval(9.96, 10.05), "[9.960, 10.05]");
}

TEST(Units, WritePercentWithOneDecimal) {
  EXPECT_EQ(text::format_percent(0.95049), "95.0");
}

TEST(Units, CountInWords) {
  EXPECT_EQ(text::format_count(1, "tensor"), "1 tensor");
  EXPECT_EQ(text::format_count(0, "tensor"), "0 tensors");
}

TEST(Units, WriteSizesInTheUnitThatSuits) {
  constexpr std::int64_t kMebi = 1 << 20;
  EXPECT_EQ(text::format_size(0), "0 B");
  EXPECT_EQ(text::format_size(10239), "10239 B");
  EXPECT_EQ(text::format_size(10240), "10.0 KiB");
  EXPECT_EQ(text::format_size(10 * kMebi), "10.0 MiB");
  EXPECT_EQ(text::format_size(10240 * kMebi - 1), "10240.0 MiB");
  EXPECT_EQ(text::format_size(81559 * kMebi), "79.6 GiB");
}

TEST(Units, WriteDurationsAsFineAsTheyMatter) {
  EXPECT_EQ(text::format_duration(0.26), "0.3 s");
  EXPECT_EQ(text::format_duration(9.94), "9.9 s");
  EXPECT_EQ(text::format_duration(9.96), "10 s");
  EXPECT_EQ(text::format_duration(59.4), "59 s");
  EXPECT_EQ(text::format_duration(59.5), "1 min 00 s");
  EXPECT_EQ(text::format_duration(61.0), "1 min 01 s");
  EXPECT_EQ(text::format_duration(3599.6), "1 h 00 min");
  EXPECT_EQ(text::format_duration(3720.0), "1 h 02 min");
  EXPECT_EQ(text::format_duration(86400.0), "24 h 00 min");
}

TEST(Units, SurviveDurationsThatAreNone) {
  EXPECT_EQ(text::format_duration(-1.0), "0.0 s");
  EXPECT_EQ(text::format_duration(std::nan("")), "0.0 s");
  EXPECT_EQ(text::format_duration(HUGE_VAL), "277777777 h 47 min");
}

TEST(Energy, HasThreeDigits) {
  EXPECT_EQ(text::format_energy(0.00124), "1.24 mJ");
  EXPECT_EQ(text::format_energy(0.0860), "86.0 mJ");
  EXPECT_EQ(text::format_energy(0.9998), "1.00 J");
  EXPECT_EQ(text::format_energy(312.4), "312 J");
  EXPECT_EQ(text::format_energy(8.6e-7), "860 nJ");
  EXPECT_EQ(text::format_energy(0.0), "0.00 nJ");
}

}  // namespace
}  // namespace nf4bench
