"""Tries one OpenGL backend: a script in its own process, because a broken driver may crash it.

Uses only the standard library, so that it starts in 20 ms. The exit status is 0 if a context could
be made, 3 if the system lacks a library, else 4.
"""

import ctypes
import os
import sys
from typing import Any

MISSING, FAILS = 3, 4

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_EGL_PLATFORM_DEVICE, _EGL_OPENGL_API = 0x313F, 0x30A2
_EGL_WANTED = (0x3040, 8, 0x3033, 1, 0x3025, 24, 0x3026, 8, 0x3038)
"""OpenGL (EGL_RENDERABLE_TYPE), in a pixel buffer (EGL_SURFACE_TYPE), depth 24, stencil 8."""
_MOST_DEVICES = 10
_OSMESA_RGBA = 0x1908


def try_egl() -> None:
    """Make an off-screen context on one of the devices, as MuJoCo does."""
    _load("libOpenGL.so.0", "libGL.so.1")
    egl = _load("libEGL.so.1")
    egl.eglGetProcAddress.restype = _POINTER
    query = _extension(egl, b"eglQueryDevicesEXT", _INT, _INT, _POINTER, _POINTER)
    open_display = _extension(egl, b"eglGetPlatformDisplayEXT", _POINTER, _INT, _POINTER, _POINTER)
    devices, count = (_POINTER * _MOST_DEVICES)(), _INT()
    _require(query(_MOST_DEVICES, devices, ctypes.byref(count)))
    found = list(devices[: count.value])
    chosen = os.environ.get("MUJOCO_EGL_DEVICE_ID")
    for device in found if chosen is None else found[int(chosen) :][:1]:
        display = open_display(_EGL_PLATFORM_DEVICE, device, None)
        if display and egl.eglInitialize(_POINTER(display), None, None):
            _make_egl_context(egl, _POINTER(display))
            return
    sys.exit(FAILS)


def _make_egl_context(egl: Any, display: Any) -> None:
    wanted, config, count = (_INT * len(_EGL_WANTED))(*_EGL_WANTED), _POINTER(), _INT()
    egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
    _require(count.value)
    egl.eglBindAPI(_EGL_OPENGL_API)
    egl.eglCreateContext.restype = _POINTER
    context = egl.eglCreateContext(display, config, None, None)
    _require(context)
    _require(egl.eglMakeCurrent(display, None, None, _POINTER(context)))


def try_osmesa() -> None:
    """Make a context that draws into memory, without a driver."""
    mesa = _load("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so")
    mesa.OSMesaCreateContextExt.restype = _POINTER
    _require(mesa.OSMesaCreateContextExt(_OSMESA_RGBA, 24, 8, 0, None))


def try_window() -> None:
    """Connect to the display."""
    _load("libGL.so.1")
    if os.environ.get("DISPLAY"):
        x11 = _load("libX11.so.6")
        x11.XOpenDisplay.restype = _POINTER
        _require(x11.XOpenDisplay(None))
    elif os.environ.get("WAYLAND_DISPLAY"):
        wayland = _load("libwayland-client.so.0")
        wayland.wl_display_connect.restype = _POINTER
        _require(wayland.wl_display_connect(None))
    else:
        sys.exit(FAILS)


def _load(*names: str) -> Any:
    """Load the first library available."""
    for name in names:
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    sys.exit(MISSING)


def _extension(egl: Any, name: bytes, result: Any, *arguments: Any) -> Any:
    address = egl.eglGetProcAddress(name)
    _require(address)
    return ctypes.CFUNCTYPE(result, *arguments)(address)


def _require(success: object) -> None:
    if not success:
        sys.exit(FAILS)


if __name__ == "__main__":
    {"egl": try_egl, "osmesa": try_osmesa, "glfw": try_window}[sys.argv[1]]()
