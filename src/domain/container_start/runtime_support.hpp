// What container runtimes and runtime handlers support: which runtime versions apply CDI devices
// that an NRI plugin adds, and which handlers isolate a container so strictly that neither a GPU
// nor our files reach it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// unsupported, with the versions that work, if this runtime ignores CDI devices that an NRI plugin
// adds. Such a runtime starts the container with our environment and mounts, and without the GPU. A
// runtime or version that is not in the table is accepted. `name` and `version` are as the runtime
// reports them to NRI plugins, or as a Node shows them ("containerd", "v2.0.5-k3s1").
//
// Sources: containerd/containerd #12650 (fixed in 1.7.30) and #12651 (closed, so never in 2.0),
// cri-o/cri-o #9128 (merged on 2025-07-14, first in 1.34).
Result<> check_cdi_from_nri(std::string_view name, std::string_view version);

// The same for a runtime as a Node shows it ("containerd://2.1.4"). Accepts an empty text.
Result<> check_cdi_from_nri_of(std::string_view node_runtime);

// unsupported if containers of this runtime handler have their own kernel: the handler's name
// begins with one of `sandboxed`, in upper or lower case.
Result<> check_runtime_handler(std::string_view handler, std::span<const std::string> sandboxed);

// Whether containers of this handler get their GPUs by the variable NVIDIA_VISIBLE_DEVICES. "" is
// the node's default handler; in `handlers` it is called "default".
bool reads_visible_devices(std::string_view handler, std::span<const std::string> handlers);

// Whether `kind` is a CDI kind: vendor/class, as in nvidia.com/gpu (container-device-interface,
// SPEC.md: letters, digits, '_', '-', and in the vendor '.').
bool is_cdi_kind(std::string_view kind);

}  // namespace tessera
