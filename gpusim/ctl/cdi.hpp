// The Container Device Interface specification of a driver root.
#pragma once

#include <filesystem>
#include <string>

#include "gpusim/state/layout.hpp"

namespace gpusim {

// JSON of CDI 0.6.0, kind nvidia.com/gpu: one device per UUID, one per index, and "all". Every
// device brings the libraries and the shared state; its own edits add the marker that makes its
// GPU visible. Source: github.com/cncf-tags/container-device-interface, SPEC.md.
std::string cdi_spec(const GpusFile& file, const std::filesystem::path& root);

}  // namespace gpusim
