import { type ExecFileException, execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNode, runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const cli = join(repository, 'kernel/bin/nodekeep.js')

/** Makes the program believe that its standard input is a terminal. */
const asTerminal = ['--import', 'data:text/javascript,process.stdin.isTTY = true']

interface Status {
  readonly drill: { readonly result: string } | null
  readonly isDrilling: boolean
  readonly rehearsed: string | null
}

async function statusOf(owner: TestUser): Promise<Status> {
  return (await (await owner.fetch('/api/backup/status')).json()) as Status
}

test('the key of a person is proven, and the list says when one could be back', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-rehearse-'))
  let node: TestNode | undefined
  t.teardown(async () => {
    await node?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const plugins = Object.fromEntries(
    ['files', 'storage-local', 'backup'].map((name) => [name, { from: join(repository, 'plugins', name) }]),
  )
  const configure = (backup: object) => {
    const config = { plugins, backup, data: './data' }
    writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify(config))
    return config
  }
  const env = { PATH: process.env.PATH }
  /** Runs a command, and returns its code and everything that a person sees. */
  const run = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await runCommand(['backup', ...args], { cwd: folder, env })
    return { code, text: stdout + stderr }
  }
  /** Runs a command at a terminal, where a person enters a text. */
  const runAtTerminal = (args: readonly string[], entered: string) =>
    new Promise<{ code: number; text: string }>((resolve) => {
      const child = execFile(
        process.execPath,
        [...process.execArgv, ...asTerminal, cli, 'backup', ...args],
        { cwd: folder, env },
        (error: ExecFileException | null, stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
      )
      child.stdin?.end(entered)
    })

  configure({})
  const { text: keyFile } = await run(['key'])
  const [recipient = '', identity = ''] = [/age1\w+/, /AGE-SECRET-KEY-1\w+/].map(
    (part) => part.exec(keyFile)?.[0],
  )
  const { data: _data, ...config } = configure({ recipients: [recipient] })
  t.match(await run(['rehearse']), { code: 1, text: /no encrypted backup yet/ })

  node = await createTestNode({ dataFolder: join(folder, 'data'), config })
  const owner = await node.signIn('owner')
  await owner.fetch('/write?path=/a', { method: 'PUT', body: 'content' })
  const answer = await owner.fetch('/api/backup/create', { method: 'POST' })
  const { filename } = (await answer.json()) as { filename: string }
  while ((await statusOf(owner)).isDrilling) await pause(50)
  t.match(await statusOf(owner), { drill: { result: 'passed' }, recipients: 1, rehearsed: null })
  // Also the one who may read everything cannot follow this link.
  const unreadable = 'backup-20250101-000000.tar.gz'
  symlinkSync(unreadable, join(folder, 'data', 'backups', unreadable))
  const listed = await run(['list'])
  t.match(listed.text, /You could be back in \d+ s, tried (today|on .+) at \d\d:\d\d\./)
  t.match(
    listed.text,
    new RegExp(`${filename} .*\n.*${unreadable} cannot be read, so it is not listed: ELOOP`),
  )
  t.match(listed.text, /1 backup takes \d+ MiB\. All backups stay, because `backup\.keep` is not set\./)
  const { text } = await run(['list', '--json'])
  const [json = '', line] = text.split('The backup ')
  t.match(JSON.parse(json), [{ filename, encrypted: 'yes' }])
  t.match(line, `${unreadable} cannot be read`, 'the error stream names it')

  t.match(await run(['rehearse']), { code: 1, text: /no terminal .+--key FILE/ })
  const other = join(repository, 'plugins/backup/test/fixtures/format-1.key')
  t.match(await run(['rehearse', '--key', other]), { code: 1, text: /for another recovery key/ })
  t.equal((await statusOf(owner)).rehearsed, null, 'a wrong key proves nothing')

  const entered = await runAtTerminal(['rehearse'], `${identity.toLowerCase()}\n`)
  t.match(entered, { code: 0, text: /The key opens the backup/ })
  t.match(entered.text, /Recovery key:/)
  t.notMatch(entered.text, new RegExp(identity, 'i'), 'the key is not shown')
  const { rehearsed } = await statusOf(owner)
  t.ok(rehearsed)
  const health = await owner.fetch('/api/system/health')
  t.match(await health.json(), { checks: { backup: { ok: true, state: 'available' } } })

  writeFileSync(join(folder, 'recovery.key'), keyFile)
  t.match(await run(['rehearse', filename, '--key', join(folder, 'recovery.key')]), {
    code: 0,
    text: filename,
  })
  t.not((await statusOf(owner)).rehearsed, rehearsed)
})
