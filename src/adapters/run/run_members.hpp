// The processes of a run, as /proc shows them.
#pragma once

#include <filesystem>

namespace tessera {

// Whether a process has loaded this library, or was started with it in its environment. Only
// processes of this user are seen; root sees all.
bool has_process(const std::filesystem::path& library);

}  // namespace tessera
