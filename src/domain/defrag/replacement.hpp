// When a controller makes another pod in the place of one that is ended.
#pragma once

namespace tessera::defrag {

enum class Replacement {
    at_once,    // while the old one, which is ending still, holds its cards
    once_gone,  // when the old one has given them back
    unknown,    // one or the other
};

}  // namespace tessera::defrag
