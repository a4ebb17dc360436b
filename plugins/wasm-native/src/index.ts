import { definePlugin, WasmRuntimes } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { NativeRuntime } from './runtime.ts'

/** Contributes the wasm runtime `native`: exported functions, run by V8 in processes of their own. */
export default definePlugin({
  id: 'wasm-native',
  description: 'Calls single functions of WebAssembly programs.',
  config: configuration,
  contributes: { runtimes: WasmRuntimes },
  setup({ config, log, runtimes, onStop }) {
    const runtime = new NativeRuntime({ ...config, log })
    onStop(() => runtime.stop())
    runtimes.add('native', runtime)
  },
})
