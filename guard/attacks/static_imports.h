/* The functions of a static program that a library which it loads by itself may need. */
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    /* NULL where it has none of that name. */
    void* static_import(const char* name);
