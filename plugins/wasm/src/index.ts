import { definePlugin, Files, HealthChecks, NodekeepError, WasmRuntimes } from '@nodekeep/plugin-sdk'
import { configuration, limitsOf, moduleBytesOf } from './configuration.ts'
import { FunctionCalls } from './functions/function-calls.ts'
import { wasmHealth } from './health.ts'
import { wasmRoutes } from './http/routes.ts'
import { createModuleUploads } from './http/uploaded-modules.ts'
import { StoredModules } from './modules/stored-modules.ts'
import { FairQueue } from './queue/fair-queue.ts'
import { ProgramQueue } from './queue/program-queue.ts'
import { Runtimes } from './runtimes.ts'

/** The plugin `wasm`: functions and programs in WebAssembly, on whichever runtimes are loaded. */
export default definePlugin({
  id: 'wasm',
  description: 'Calls functions of WebAssembly modules and runs WASI programs, for each user in turn.',
  config: configuration,
  requires: { files: Files, registry: WasmRuntimes },
  contributes: { health: HealthChecks },
  setup({ config, files, registry, health, signal, routes }) {
    const moduleBytes = moduleBytesOf(config)
    const limits = limitsOf(config)
    const runtimes = new Runtimes(registry)
    const queue = new FairQueue(config)
    const programs = new ProgramQueue(config)
    signal.addEventListener(
      'abort',
      () => {
        for (const each of [queue, programs]) each.close(stopping())
      },
      { once: true },
    )
    health.add('wasm', wasmHealth(runtimes))
    routes(
      wasmRoutes({
        files,
        queue,
        programs,
        stored: new StoredModules(files, moduleBytes),
        calls: new FunctionCalls(runtimes, limits),
        runtimes,
        limits,
        uploads: createModuleUploads(moduleBytes),
        moduleBytes,
      }),
      { prefix: '/api/wasm' },
    )
  },
})

function stopping(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping. Try again later.', {
    headers: { 'retry-after': '5' },
  })
}
