import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import type { WasmerRuntime } from '../src/runtime.ts'
import { WasmerStand } from './fixtures/wasmer-stand.ts'

wasmConformance(test, {
  create: async () => new WasmerStand().runtime,
  destroy: (runtime) => (runtime as WasmerRuntime).stop(),
})
