import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { TufSource } from '../src/tuf-source.ts'
import { releaseFiles } from './fixtures/tuf-repository.ts'
import { never, tufSubject } from './fixtures/tuf-subject.ts'

const program = fileURLToPath(new URL('./fixtures/download-program.ts', import.meta.url))

/** Runs the program, and kills it some milliseconds after a step. */
async function killAt(t: Test, args: readonly string[], step: RegExp, ms: number): Promise<void> {
  const child = spawn(process.execPath, ['--conditions=nodekeep-source', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) if (step.test(line)) break
  setTimeout(() => child.kill('SIGKILL'), ms)
  const [, signal] = await ended
  t.equal(signal, 'SIGKILL')
}

test('a node that is killed at any step finds and downloads the release afterwards', async (t) => {
  const { repository, server, root } = await tufSubject(t)
  const files = { ...releaseFiles('1.2.0'), 'large.txt': randomBytes(4 * 2 ** 20).toString('latin1') }
  await repository.publish('1.2.0', { files })
  const folder = mkdtempSync(join(t.testdir({}), 'node-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const kills = [
    [/check/, 0],
    [/check/, 10],
    [/share 0\.[0-6]/, 0],
    [/share 0\.7/, 0],
    [/share 0\.9/, 5],
    [/share 1/, 0],
    [/share 1/, 10],
  ] as const
  for (const [step, ms] of kills) await killAt(t, [server.url.href, root, folder], step, ms)

  const source = new TufSource({ url: server.url, root, folder: join(folder, 'own'), userAgent: 'test' })
  await source.removeLeft()
  t.same(readdirSync(join(folder, 'own')).includes('downloads'), false, 'what was left is removed')
  t.match(await source.latest('1.0.0', never), { version: '1.2.0' })
  const target = mkdtempSync(join(folder, 'release-'))
  await source.download({ version: '1.2.0' }, target, { signal: never })
  t.same(readdirSync(target).sort(), ['bin', 'large.txt', 'release.json'])
  await repository.goBack()
  await t.rejects(
    source.latest('1.0.0', never),
    { message: /older state/ },
    'nothing that was seen is forgotten',
  )
})
