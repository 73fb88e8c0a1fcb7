"""What can work for a target, and why nothing else: wish + facts -> choices, or conflicts as values. Pure."""
