import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import type { WasmerRuntime } from '../src/runtime.ts'
import { RuntimeFixture } from './fixtures/wasmer-stand.ts'

wasmConformance(test, {
  create: async () => new RuntimeFixture().runtime,
  destroy: (runtime) => (runtime as WasmerRuntime).stop(),
})
