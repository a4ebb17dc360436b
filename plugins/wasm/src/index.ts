import {
  definePlugin,
  Files,
  HealthChecks,
  limitJsonComplexity,
  NodekeepError,
  WasmRuntimes,
} from '@nodekeep/plugin-sdk'
import { configuration, limitsOf, moduleBytesOf } from './configuration.ts'
import { FunctionCalls } from './functions/function-calls.ts'
import { functionRoutes } from './http/function-routes.ts'
import { createModuleUploads } from './http/module-uploads.ts'
import { programRoute } from './http/program-route.ts'
import { StoredModules } from './modules/stored-modules.ts'
import { Runtimes } from './runtimes.ts'

/** The plugin `wasm`: functions and programs in WebAssembly, on the runtimes that are loaded. */
export default definePlugin({
  id: 'wasm',
  description: 'Runs small programs (WebAssembly) in a sandbox.',
  config: configuration,
  requires: { files: Files, registry: WasmRuntimes },
  contributes: { health: HealthChecks },
  setup({ config, files, registry, health, signal, routes }) {
    const moduleBytes = moduleBytesOf(config)
    const limits = limitsOf(config)
    const runtimes = new Runtimes(registry, config)
    const calls = new FunctionCalls(runtimes, limits)
    const stored = new StoredModules(files, moduleBytes)
    const uploads = createModuleUploads(moduleBytes)
    signal.addEventListener('abort', () => runtimes.close(stopping()), { once: true })
    health.add('wasm', {
      check: () =>
        runtimes.isEmpty
          ? { ok: false, state: 'unavailable', message: noRuntime }
          : { ok: true, state: 'available' },
    })
    routes(
      (app) => {
        limitJsonComplexity(app)
        functionRoutes(app, { calls, stored, uploads, moduleBytes })
        programRoute(app, { files, runtimes, stored, limits, uploads, moduleBytes })
      },
      { prefix: '/api/wasm' },
    )
  },
})

const noRuntime =
  'No program of WebAssembly can run: enable "wasm-native" or "wasm-wasmer" under "Plugins", or disable "wasm".'

function stopping(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping. Try again later.', {
    headers: { 'retry-after': '5' },
  })
}
