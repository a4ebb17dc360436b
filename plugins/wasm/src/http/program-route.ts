import {
  clientSignal,
  type FilesService,
  NodekeepError,
  type RoutesApp,
  type Static,
  userOf,
  type WasmLimits,
} from '@nodekeep/plugin-sdk'
import type { StoredModules } from '../modules/stored-modules.ts'
import { preopensOf } from '../programs/preopens.ts'
import { programInput } from '../programs/program-input.ts'
import type { Runtimes } from '../runtimes.ts'
import { type ModuleUploads, uploadedModule } from './module-uploads.ts'
import { runAnswer, runBody } from './schemas.ts'

/** The parts of the plugin that the route uses. */
interface ProgramRouteServices {
  readonly files: FilesService
  readonly runtimes: Runtimes
  readonly stored: StoredModules
  readonly limits: WasmLimits
  readonly uploads: ModuleUploads
  /** Bytes of the largest module. */
  readonly moduleBytes: number
}

/** Registers `POST /run`. */
export function programRoute(app: RoutesApp, services: ProgramRouteServices): void {
  const { files, runtimes, stored, limits, uploads, moduleBytes } = services
  const schema = {
    operationId: 'runProgram',
    summary: 'Run a WASI program',
    body: runBody,
    response: { 200: runAnswer },
  }
  app.post('/run', { ...uploads, schema, config: { scope: 'wasm' } }, async (request, reply) => {
    const { body } = request
    const { encoding = 'utf8', folders = [] } = body
    const user = userOf(request)
    const signal = clientSignal(reply)
    const arrived = performance.now()
    const input = programInput({ ...body, encoding })
    checkSource(body)
    const { exitCode, stdout, stderr } = await runtimes.forPrograms(user.uuid, signal, async (runtime) => {
      const preopens = await preopensOf(folders, user, files.for(user))
      const module =
        body.wasmBytes === undefined
          ? await stored.find(user, body.filepath ?? '', arrived, signal)
          : uploadedModule(body.wasmBytes, moduleBytes)
      signal.throwIfAborted()
      return runtime.run(module, { ...input, preopens }, limits, signal)
    })
    return {
      success: exitCode === 0,
      exitCode,
      stdout: asText(stdout, encoding),
      stderr: asText(stderr, encoding),
    }
  })
}

function checkSource({ filepath, wasmBytes }: Static<typeof runBody>): void {
  if ((filepath === undefined) !== (wasmBytes === undefined)) return
  throw new NodekeepError('VALIDATION_ERROR', 'Name the program either by "filepath" or by "wasmBytes".')
}

/** Bytes that are not valid UTF-8 become U+FFFD. */
function asText({ buffer, byteOffset, byteLength }: Uint8Array, encoding: 'utf8' | 'base64'): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString(encoding)
}
