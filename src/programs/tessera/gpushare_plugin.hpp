// `kubectl inspect gpushare`.
#pragma once

namespace tessera {

// gpushare's kubectl plugin: its flags, its texts, its exit statuses (docs/research/gpushare.md
// section 3). Returns the exit status.
int run_gpushare_plugin(int argc, char** argv);

}  // namespace tessera
