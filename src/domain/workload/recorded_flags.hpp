// The flags by which a job was made, as its anchor records them: each is "--NAME=VALUE", and "--"
// precedes the words of the job's own command line.
#pragma once

#include <string>
#include <vector>

namespace tessera::workload {

using RecordedFlags = std::vector<std::string>;

// The flags of a job that was made with `earlier` and is changed by `later`.
//
// - A flag of `later` replaces the one of `earlier`; an empty value removes it, and of a list all
//   entries.
// - A list has entries with keys (--env: the name; --data: the path; see the table in the source).
//   Of the entries with one key the last remains.
// - Flags that exclude each other replace each other: whole GPUs and a share; the ways to name the
//   models; --command and the words.
RecordedFlags merged_flags(const RecordedFlags& earlier, const RecordedFlags& later);

// `recorded` without the names of the command, such as "serve", "tensorflow".
RecordedFlags flags_of(const std::vector<std::string>& recorded);

}  // namespace tessera::workload
