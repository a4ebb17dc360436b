import { type FilesService, limitJsonComplexity, type RoutesApp, type WasmLimits } from '@nodekeep/plugin-sdk'
import type { FunctionCalls } from '../functions/function-calls.ts'
import type { StoredModules } from '../modules/stored-modules.ts'
import type { FairQueue } from '../queue/fair-queue.ts'
import type { ProgramQueue } from '../queue/program-queue.ts'
import type { Runtimes } from '../runtimes.ts'
import { executeRoutes } from './execute-routes.ts'
import { exportsRoute } from './exports-route.ts'
import { runRoute } from './run-route.ts'
import type { ModuleUploads } from './uploaded-modules.ts'

/** What the routes work with. */
export interface WasmRoutesParts {
  readonly files: FilesService
  readonly queue: FairQueue
  readonly programs: ProgramQueue
  readonly stored: StoredModules
  readonly calls: FunctionCalls
  readonly runtimes: Runtimes
  readonly limits: WasmLimits
  readonly uploads: ModuleUploads
  /** Bytes of the largest module. */
  readonly moduleBytes: number
}

/** Registers all endpoints, below `/api/wasm`. */
export function wasmRoutes(parts: WasmRoutesParts): (app: RoutesApp) => void {
  return (app) => {
    limitJsonComplexity(app)
    executeRoutes(app, parts)
    exportsRoute(app, parts)
    runRoute(app, parts)
  }
}
