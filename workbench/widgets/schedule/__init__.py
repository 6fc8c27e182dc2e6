"""ScheduleStepper: one kernel's schedule, primitive by primitive."""
