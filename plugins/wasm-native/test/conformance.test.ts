import { wasmConformance } from '@nodekeep/plugin-sdk/conformance/wasm'
import { test } from 'tap'
import type { NativeRuntime } from '../src/runtime.ts'
import { RuntimeFixture } from './fixtures/native-stand.ts'

wasmConformance(test, {
  create: async () => new RuntimeFixture().runtime,
  destroy: (runtime) => (runtime as NativeRuntime).stop(),
})
