import { NodekeepError, type RoutesApp, type Static } from '@nodekeep/plugin-sdk'
import { moduleFromBase64 } from '../modules/base64-module.ts'
import { preopensOf } from '../programs/preopens.ts'
import { programInput } from '../programs/program-input.ts'
import { callerOf } from './caller.ts'
import { connectionSignal } from './connection-signal.ts'
import type { WasmRoutesParts } from './routes.ts'
import { runAnswer, runBody } from './schemas.ts'

/** Registers `POST /run`. */
export function runRoute(app: RoutesApp, parts: WasmRoutesParts): void {
  const { programs, files, runtimes, limits, uploads, stored, moduleBytes } = parts
  const schema = { summary: 'Run a WASI program', body: runBody, response: { 200: runAnswer } }
  app.post('/run', { ...uploads, schema, config: { scope: 'wasm' } }, async (request) => {
    const { body } = request
    const { encoding = 'utf8', folders = [] } = body
    const user = callerOf(request)
    const signal = connectionSignal(request)
    const runtime = runtimes.forPrograms()
    const input = programInput({ ...body, encoding })
    checkSource(body)
    const { exitCode, stdout, stderr } = await programs.run(runtime, user.uuid, signal, async () => {
      const preopens = await preopensOf(folders, user, files.for(user))
      const module =
        body.wasmBytes === undefined
          ? await stored.find(user, body.filepath ?? '', signal)
          : moduleFromBase64(body.wasmBytes, moduleBytes)
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

/** In UTF-8, what is none becomes U+FFFD. */
function asText({ buffer, byteOffset, byteLength }: Uint8Array, encoding: 'utf8' | 'base64'): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString(encoding)
}
