"""Bridges to other programs' formats, one file each; nothing is imported until it is used.

    robots.py         links and joints of a robot, what it rolls on, and `import_robot`
    urdf.py, mjcf.py  URDF, and the format of MuJoCo
    parameter_tables.py  Denavit–Hartenberg tables, parameter files of bicycles
    vda5050.py        factsheets of VDA 5050, and its orders as missions
    exports.py        the family of what goes out, and `export`; CasADi functions, MAT and Parquet
    c_source.py       C code of compiled systems, for others too
    fmu.py            functional mock-up units
    c_code            what is the same in the C code of every system
    python_control.py systems of python-control
    differentiable.py differentiable functions of JAX and PyTorch
    ros.py            runs as ROS 2 bags, and parameters of controllers for wheeled bases
    xml_text.py       safe reading of XML

A bridge is a format of one of the families in `base/families.py`. `BRIDGES` lists the modules;
they are imported where a suffix is not one of the package's own.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

#: Modules of this package that define formats.
BRIDGES = (
    *("urdf", "mjcf", "parameter_tables", "vda5050", "ros"),
    *("exports", "c_source", "fmu"),
)
