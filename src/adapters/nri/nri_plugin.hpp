// The RuntimeLink port as an NRI plugin: registers with containerd 2 or CRI-O and answers for each
// container that they create.
#pragma once

#include <chrono>
#include <string>

#include "ports/container_runtime.hpp"

namespace tessera {

struct NriOptions {
    std::string socket = "/var/run/nri/nri.sock";
    std::string name = "tessera";
    // The order in which plugins run. A late index: our settings override those of earlier plugins.
    std::string index = "90";
    std::chrono::milliseconds retry{500};
};

class NriPlugin final : public RuntimeLink {
  public:
    explicit NriPlugin(NriOptions options) : options_(std::move(options)) {}

    void run(ContainerHandler& handler, std::stop_token stop) override;

  private:
    const NriOptions options_;
};

}  // namespace tessera
