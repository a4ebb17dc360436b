import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createFilesNode, put } from '../fixtures/files-node.ts'

const readme = join(import.meta.dirname, '../../README.md')

t.test('the commands of the README run', { skip: needsPrograms('curl') }, async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const folder = t.testdir({ 'cat.jpg': 'cat' })
  await put(ada, '/photos/cat', 'cat')
  await put(ada, '/backup/photos/old', 'old')
  const etag = (await put(ada, '/a.txt', 'a')).headers.get('etag') ?? ''
  const { cursor } = (await (await ada.fetch('/api/files/changes')).json()) as { cursor: string }
  const group = (await put(ada, '/new', 'x')).headers.get('x-nodekeep-undo') ?? ''

  const text = (await readFile(readme, 'utf8')).replace(/if-match: "[^"]+"/, `if-match: ${etag}`)
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
  const commands = blocks.flatMap((block) => block.trim().split(/\n(?=curl )/))
  t.ok(commands.length >= 7, `${commands.length} commands`)
  const env = {
    ...process.env,
    NODE: String(node.url).replace(/\/$/, ''),
    TOKEN: ada.token,
    CURSOR: cursor,
    GROUP: group,
  }
  for (const command of commands) {
    const { promise, resolve } = Promise.withResolvers<{ failure: string | null; out: string }>()
    const child = execFile('bash', ['-c', `exec ${command}`], { cwd: folder, env }, (error, out) =>
      resolve({ failure: error === null || error.killed ? null : `${error.message} ${out}`, out }),
    )
    // A stream has no end, so its first event is enough.
    if (command.includes('event-stream')) child.stdout?.once('data', () => child.kill())
    const { failure, out } = await promise
    t.equal(failure, null, command)
    if (command.includes(' -o ')) t.equal(out, '')
    else t.match(out, /success|entries|changes|items|versions/)
  }
  for (const archive of ['photos.zip', 'selection.zip'])
    t.ok((await readFile(join(folder, archive))).includes('photos/cat'))
})
