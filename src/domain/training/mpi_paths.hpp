// The port and the paths by which the containers of an MPI job run commands in each other. The
// job's objects name them, and tessera-mpi-shell uses them.
#pragma once

#include <string_view>

namespace tessera::workload {

inline constexpr int kShellPort = 4722;
inline constexpr std::string_view kShellFolder = "/tessera-mpi";
inline constexpr std::string_view kShellProgram = "/tessera-mpi/tessera-mpi-shell";
// The same program by the name with which mpirun calls it.
inline constexpr std::string_view kShellAgent = "/tessera-mpi/tessera-mpi-rsh";
// A line `HOST slots=N` for each worker, and `HOST:N`.
inline constexpr std::string_view kOpenMpiHosts = "/etc/tessera-mpi/hostfile";
inline constexpr std::string_view kHydraHosts = "/etc/tessera-mpi/hydra-hosts";
// The folder of the Secret, and its only key.
inline constexpr std::string_view kShellSecretFolder = "/etc/tessera-mpi-secret";
inline constexpr std::string_view kShellSecretKey = "key";

}  // namespace tessera::workload
