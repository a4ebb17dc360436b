#!/usr/bin/env node
import '../dist/cli/nodekeep.js'
