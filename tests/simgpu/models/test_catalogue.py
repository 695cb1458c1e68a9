"""The models that come with simgpu, by name."""

import json

import pytest

from simgpu import DeviceModel, model_for
from simgpu.models.catalogue import data_sheets


@pytest.mark.parametrize("name", sorted(data_sheets()))
def test_a_name_in_any_case_a_mapping_and_the_model_itself_are_the_same(name):
    sheet = json.loads(data_sheets()[name].read_text(encoding="utf-8"))
    model = model_for(name)
    assert model.name == name and model.peak == sheet["peak"] and model.memory == sheet["memory"]
    assert model.label == f"modelled: {sheet['hardware']} data sheet, not measured"
    assert model_for(name.lower()) == model_for(sheet["name"]) == model_for(sheet) == model
    assert isinstance(model, DeviceModel) and model_for(model) is model


def test_pageable_memory_is_slower_than_the_bus_and_than_the_staging():
    model = model_for("H200")
    assert model.copy_bandwidth_pageable == pytest.approx(1 / (1 / 64e9 + 1 / 12e9))
