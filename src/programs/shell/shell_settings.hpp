// What tessera-mpi-shell reads from its environment, and from the files of its container.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// TESSERA_MPI_PORT; 0: any free port.
Result<int> shell_port();
// The content of TESSERA_MPI_SECRET_FILE, without a newline at its end.
Result<std::string> shell_secret();
// The hosts of TESSERA_MPI_HOSTS: the first word of each line.
Result<std::vector<std::string>> worker_hosts();

}  // namespace tessera
