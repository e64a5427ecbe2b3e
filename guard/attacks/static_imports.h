/* The functions that a static program offers to a library which it loads by its own loader. */
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    /* NULL if there is none of that name. */
    void* static_import(const char* name);
