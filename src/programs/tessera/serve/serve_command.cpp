#include "programs/tessera/commands.hpp"
#include "programs/tessera/serve/serve_commands.hpp"

namespace tessera {

CommandRow serve_command() {
    return {.name = "serve",
            .summary = "Serve models on a GPU share",
            .example =
                "tessera serve tensorflow --name mnist --model-name mnist --model-path "
                "/models/mnist --data models:/models --gpumemory 3",
            .commands = {serve_tensorflow_command(), serve_triton_command(), serve_custom_command(),
                         serve_update_command(), serve_traffic_split_command(),
                         serve_list_command(), serve_get_command(), serve_logs_command(),
                         serve_attach_command(), serve_delete_command()}};
}

}  // namespace tessera
