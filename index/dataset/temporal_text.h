// Dates, times and durations as ISO 8601, no digit lost.
//
// Pure functions, thread-safe.
#ifndef ROWFS_INDEX_DATASET_TEMPORAL_TEXT_H_
#define ROWFS_INDEX_DATASET_TEMPORAL_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/table/array.h"

namespace rowfs {

// Days since 1970-01-01, proleptic Gregorian: "2024-02-29". Years outside
// 0000-9999 get a sign ("+12024-01-01", "-0001-12-31").
std::string DateText(int64_t days);
// Time of day with as many digits as the unit has, trailing zeros kept only as
// far as needed: "12:34:56", "12:34:56.789".
std::string TimeText(int64_t value, TimeUnit unit);
// "2024-01-01T00:00:00.123"; with `zone` the local time is UTC followed by "Z"
// and, when the zone is no plain UTC, "[Europe/Berlin]".
std::string TimestampText(int64_t value, TimeUnit unit, std::string_view zone);
// "PT1.5S", "-PT0.001S".
std::string DurationText(int64_t value, TimeUnit unit);

}  // namespace rowfs
#endif  // ROWFS_INDEX_DATASET_TEMPORAL_TEXT_H_
