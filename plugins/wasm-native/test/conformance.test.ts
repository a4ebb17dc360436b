import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import t, { test } from 'tap'
import { createRuntime } from './fixtures/native-stand.ts'

const { runtime } = createRuntime(t)

wasmConformance(test, { create: async () => runtime })
