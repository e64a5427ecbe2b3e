// Calls the gRPC interface of a model server:
//
//     model-client ADDRESS:PORT status MODEL        prints VERSION STATE for each version
//     model-client ADDRESS:PORT predict MODEL X...  prints each result
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorflow/serving.grpc.pb.h"

namespace {

namespace serving = tensorflow::serving;

int report(const grpc::Status& status) {
    if (status.ok()) return EXIT_SUCCESS;
    std::fprintf(stderr, "gRPC error %d: %s\n", int{status.error_code()},
                 status.error_message().c_str());
    return EXIT_FAILURE;
}

int show_status(const std::shared_ptr<grpc::Channel>& channel, const std::string& model) {
    serving::GetModelStatusRequest request;
    request.mutable_model_spec()->set_name(model);
    serving::GetModelStatusResponse response;
    grpc::ClientContext context;
    const auto status =
        serving::ModelService::NewStub(channel)->GetModelStatus(&context, request, &response);
    for (const serving::ModelVersionStatus& version : response.model_version_status()) {
        std::printf("%lld %s\n", static_cast<long long>(version.version()),
                    serving::ModelVersionStatus::State_Name(version.state()).c_str());
    }
    return report(status);
}

int predict(const std::shared_ptr<grpc::Channel>& channel, const std::string& model, int count,
            char** numbers) {
    serving::PredictRequest request;
    request.mutable_model_spec()->set_name(model);
    tensorflow::TensorProto& input = (*request.mutable_inputs())["x"];
    input.set_dtype(tensorflow::DT_FLOAT);
    input.mutable_tensor_shape()->add_dim()->set_size(count);
    for (int i = 0; i < count; i++)
        input.add_float_val(std::strtof(numbers[i], nullptr));
    serving::PredictResponse response;
    grpc::ClientContext context;
    const auto status =
        serving::PredictionService::NewStub(channel)->Predict(&context, request, &response);
    if (!status.ok()) return report(status);
    for (const float value : response.outputs().at("y").float_val())
        std::printf("%g\n", double{value});
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kLeast = 4;
    if (argc < kLeast) {
        std::fprintf(stderr, "usage: model-client ADDRESS:PORT status|predict MODEL [X...]\n");
        return 2;
    }
    const auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
    if (std::string(argv[2]) == "status") return show_status(channel, argv[3]);
    return predict(channel, argv[3], argc - kLeast, argv + kLeast);
}
