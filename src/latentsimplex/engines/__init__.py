"""How blocks of views are mapped and reduced: EM never knows which engine ran."""
