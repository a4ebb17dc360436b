import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Log } from '@nodekeep/plugin-sdk'
import { OrphanGuard } from '@nodekeep/plugin-sdk/sandbox-process'
import { test } from 'tap'

/** A process that does nothing, and ends with its input at the latest. */
function sleeper() {
  return spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
}

test('what is guarded ends with the guard, and what was dropped does not', async (t) => {
  const guard = new OrphanGuard({ warn: () => {} } as unknown as Log)
  const [guarded, dropped] = [sleeper(), sleeper()]
  for (const { pid } of [guarded, dropped]) guard.add(pid)
  guard.drop(dropped.pid)
  const ended = once(guarded, 'exit')
  await guard.stop()
  t.strictSame(await ended, [null, 'SIGKILL'])
  t.equal(dropped.exitCode, null)
  dropped.stdin.end()
  t.strictSame(await once(dropped, 'exit'), [0, null])
})
