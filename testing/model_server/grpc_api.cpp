#include "testing/model_server/grpc_api.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "tensorflow/serving.grpc.pb.h"

namespace model_server {
namespace {

namespace serving = tensorflow::serving;

struct Found {
    const Versions* versions = nullptr;
    std::optional<std::int64_t> version;
    grpc::Status status = grpc::Status::OK;
};

Found find(const Models& models, const serving::ModelSpec& spec) {
    const auto model = models.find(spec.name());
    if (model == models.end()) {
        return {.status = {grpc::StatusCode::NOT_FOUND,
                           "Could not find any versions of model " + spec.name()}};
    }
    Found found{.versions = &model->second};
    if (spec.has_version()) found.version = spec.version().value();
    return found;
}

template <class Value>
std::vector<double> from_bytes(const std::string& bytes) {
    std::vector<double> out;
    for (std::size_t at = 0; at + sizeof(Value) <= bytes.size(); at += sizeof(Value)) {
        Value value{};
        std::memcpy(&value, bytes.data() + at, sizeof value);
        out.push_back(static_cast<double>(value));
    }
    return out;
}

std::vector<double> values_of(const tensorflow::TensorProto& tensor) {
    const std::string& bytes = tensor.tensor_content();
    if (tensor.dtype() == tensorflow::DT_DOUBLE) {
        if (!bytes.empty()) return from_bytes<double>(bytes);
        return {tensor.double_val().begin(), tensor.double_val().end()};
    }
    if (!bytes.empty()) return from_bytes<float>(bytes);
    return {tensor.float_val().begin(), tensor.float_val().end()};
}

class Predictions final : public serving::PredictionService::Service {
  public:
    Predictions(const Models& models, std::atomic<std::int64_t>& count)
        : models_(models), count_(count) {}

    // The input is called x and the output y.
    grpc::Status Predict(grpc::ServerContext*, const serving::PredictRequest* request,
                         serving::PredictResponse* response) override {
        const Found found = find(models_, request->model_spec());
        if (!found.status.ok()) return found.status;
        const Weights* weights = weights_of(*found.versions, found.version);
        if (weights == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such version"};
        const auto input = request->inputs().find("x");
        if (input == request->inputs().end())
            return {grpc::StatusCode::INVALID_ARGUMENT, "no input x"};
        *response->mutable_model_spec() = request->model_spec();
        tensorflow::TensorProto& output = (*response->mutable_outputs())["y"];
        output.set_dtype(input->second.dtype());
        *output.mutable_tensor_shape() = input->second.tensor_shape();
        for (const double x : values_of(input->second)) {
            const double y = weights->a * x + weights->b;
            if (output.dtype() == tensorflow::DT_DOUBLE) {
                output.add_double_val(y);
            } else {
                output.add_float_val(static_cast<float>(y));
            }
        }
        ++count_;
        return grpc::Status::OK;
    }

  private:
    const Models& models_;
    std::atomic<std::int64_t>& count_;
};

class Status final : public serving::ModelService::Service {
  public:
    explicit Status(const Models& models) : models_(models) {}

    grpc::Status GetModelStatus(grpc::ServerContext*, const serving::GetModelStatusRequest* request,
                                serving::GetModelStatusResponse* response) override {
        const Found found = find(models_, request->model_spec());
        if (!found.status.ok()) return found.status;
        for (const auto& [version, weights] : *found.versions) {
            if (found.version && *found.version != version) continue;
            serving::ModelVersionStatus& status = *response->add_model_version_status();
            status.set_version(version);
            status.set_state(serving::ModelVersionStatus::AVAILABLE);
            status.mutable_status();
        }
        return grpc::Status::OK;
    }

  private:
    const Models& models_;
};

}  // namespace

struct GrpcApi::Server {
    Predictions predictions;
    Status status;
    std::unique_ptr<grpc::Server> server;
};

GrpcApi::GrpcApi(int port, const Models& models, std::atomic<std::int64_t>& predictions)
    : server_(new Server{{models, predictions}, Status(models), nullptr}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(fmt::format("0.0.0.0:{}", port), grpc::InsecureServerCredentials());
    builder.RegisterService(&server_->predictions);
    builder.RegisterService(&server_->status);
    server_->server = builder.BuildAndStart();
    if (!server_->server) fail(fmt::format("port {} is in use", port));
    std::printf("Running gRPC ModelServer at 0.0.0.0:%d\n", port);
}

GrpcApi::~GrpcApi() = default;

}  // namespace model_server
