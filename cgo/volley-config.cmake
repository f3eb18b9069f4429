# find_package(volley): the target volley::volley.
set(volley_VERSION "0.1.0")
get_filename_component(_volley_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET volley::volley)
  add_library(volley::volley SHARED IMPORTED)
  set_target_properties(volley::volley PROPERTIES
    IMPORTED_LOCATION "${_volley_prefix}/lib/libvolley.so.1"
    IMPORTED_SONAME "libvolley.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_volley_prefix}/include")
endif()
unset(_volley_prefix)
