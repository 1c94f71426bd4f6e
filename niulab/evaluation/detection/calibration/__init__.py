"""The calibration of the detectors: false alarms, delays beside their limits, lists of floors."""
