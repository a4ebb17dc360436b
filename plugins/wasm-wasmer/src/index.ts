import { definePlugin, WasmRuntimes } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { WasmerRuntime } from './runtime.ts'

/** Contributes the wasm runtime `wasmer`: WASI programs, run by the Wasmer SDK in processes of their own. */
export default definePlugin({
  id: 'wasm-wasmer',
  description: 'Runs whole WebAssembly programs.',
  config: configuration,
  contributes: { runtimes: WasmRuntimes },
  setup({ config, log, runtimes, onStop }) {
    const runtime = new WasmerRuntime({ ...config, log })
    onStop(() => runtime.stop())
    runtimes.add('wasmer', runtime)
  },
})
