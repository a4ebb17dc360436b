import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const script = fileURLToPath(new URL('fixtures/faults.ts', import.meta.url))

test('the owner of a context gets its faults, and a fault without an owner ends the process', async (t) => {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  execFile(process.execPath, ['--conditions=nodekeep-source', script], { env: {} }, (error, stdout, stderr) =>
    resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  const { code, stdout, stderr } = await promise
  t.equal(stdout, 'rejection: rejected\nexception: thrown\nfound: lost\n')
  t.equal(code, 1)
  t.match(stderr, /Error: nobody did this\n\s+at /)
})
