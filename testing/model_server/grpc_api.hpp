// The gRPC interface of TensorFlow Serving: status and predictions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "testing/model_server/models.hpp"

namespace model_server {

class GrpcApi {
  public:
    // Serves until the object ends. `models` and `predictions` outlive it. Ends the program if the
    // port is in use.
    GrpcApi(int port, const Models& models, std::atomic<std::int64_t>& predictions);
    ~GrpcApi();
    GrpcApi(const GrpcApi&) = delete;
    GrpcApi& operator=(const GrpcApi&) = delete;

  private:
    struct Server;
    std::unique_ptr<Server> server_;
};

}  // namespace model_server
