// In a process of its own: it watches the calls of another process to the system.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const program = fileURLToPath(new URL('fixtures/restoring-node.ts', import.meta.url))

/** Calls that change names or contents, and those that bring them to the disk. */
const calls =
  'openat,close,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,write,writev,pwrite64,pwritev,ftruncate,fsync,fdatasync'

/** A file or a folder, and what a power cut would take from it. */
interface Entry {
  /** The names in a folder; null for a file. */
  readonly names: Map<string, Entry> | null
  /** The names that are not on the disk yet; for a file, `content` if its bytes are not. */
  readonly lost: Set<string>
}

const newEntry = (isFolder: boolean): Entry => ({ names: isFolder ? new Map() : null, lost: new Set() })

/** A disk as a power cut would leave it: only syncs bring anything to it. */
class Disk {
  readonly #root = newEntry(true)

  at(path: string): Entry | undefined {
    let entry: Entry | undefined = this.#root
    for (const name of path.split('/').filter(Boolean)) entry = entry?.names?.get(name)
    return entry
  }

  /** Adds an entry that is on the disk. */
  addKnown(path: string): Entry {
    let entry = this.#root
    for (const name of path.split('/').filter(Boolean)) {
      const next = entry.names?.get(name) ?? newEntry(true)
      entry.names?.set(name, next)
      entry = next
    }
    return entry
  }

  set(path: string, entry: Entry | null): void {
    const folder = this.at(dirname(path))
    if (entry === null) folder?.names?.delete(basename(path))
    else folder?.names?.set(basename(path), entry)
    folder?.lost.add(basename(path))
  }

  move(from: string, to: string): void {
    const entry = this.at(from)
    if (entry === undefined) return
    this.set(from, null)
    this.set(to, entry)
  }

  /** Returns the losses by a power cut on the way to a path. */
  lostAbove(path: string): string[] {
    const lost: string[] = []
    for (let at = path; at !== '/'; at = dirname(at)) {
      if (this.at(dirname(at))?.lost.has(basename(at))) lost.push(at)
    }
    return lost
  }

  /** Returns the losses by a power cut at a path, in it, and on the way to it. */
  lostOf(path: string): string[] {
    const lost = this.lostAbove(path)
    const inside = (at: string, entry: Entry | undefined) => {
      for (const name of entry?.lost ?? []) lost.push(`${at}: ${name}`)
      for (const [name, next] of entry?.names ?? []) inside(`${at}/${name}`, next)
    }
    inside(path, this.at(path))
    return lost
  }
}

/** Replays the calls, and looks at the disk before each rename and at each mark: a folder that the program makes. */
function replay(log: string, known: string, look: (disk: Disk, event: string, path: string) => void): void {
  const disk = new Disk()
  disk.addKnown(known)
  const folders = new Map<string, string>()
  const whole = (text: string) =>
    text.replace(/^\/proc\/self\/fd\/(\d+)/, (_match, fd: string) => folders.get(fd) ?? '')
  for (const line of joinedLines(log)) {
    const [, call = '', args = '', result = ''] = /^\d+ +(\w+)\((.*)\) += (.*)$/.exec(line) ?? []
    if (call === '' || result.startsWith('-1')) continue
    const paths = [...args.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, path = '']) => whole(path))
    const [first = '', second = ''] = paths
    const of = /^\d+<(.*?)>/.exec(args)?.[1] ?? ''
    if (call === 'openat') {
      const [, fd = '', path = ''] = /^(\d+)<(.*)>/.exec(result) ?? []
      folders.set(fd, path)
      if (args.includes('O_CREAT') && disk.at(path) === undefined) disk.set(path, newEntry(false))
    } else if (call.startsWith('mkdir')) {
      look(disk, 'mkdir', first)
      disk.set(first, newEntry(true))
    } else if (call.startsWith('rename')) {
      look(disk, 'rename', second)
      disk.move(first, second)
    } else if (call.startsWith('link')) {
      const entry = disk.at(first)
      if (entry !== undefined) disk.set(second, entry)
    } else if (call.startsWith('unlink') || call === 'rmdir') {
      look(disk, 'unlink', first)
      disk.set(first, null)
    } else if (call === 'fsync' || call === 'fdatasync') disk.at(of)?.lost.clear()
    else if (call !== 'close') disk.at(of)?.lost.add('content')
  }
}

/** A call that another thread interrupts has two lines. */
function* joinedLines(log: string): Generator<string> {
  const begun = new Map<string, string>()
  for (const line of log.split('\n')) {
    const thread = line.slice(0, line.indexOf(' '))
    if (line.endsWith('<unfinished ...>')) begun.set(thread, line.replace(/ *<unfinished \.\.\.>$/, ''))
    else if (line.includes(' resumed>')) yield (begun.get(thread) ?? '') + line.replace(/^.*? resumed>/, '')
    else yield line
  }
}

function canWatch(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const skip = needsPrograms('strace') || (!canWatch() && 'No process can be watched here.')

test('a power cut takes nothing of a backup, of a planned restore and of one that was applied', {
  skip,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-power-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  mkdirSync(data)
  const log = join(folder, 'log')
  const options = ['-f', '-y', '-s', '9999', '-e', `trace=${calls}`, '-e', 'signal=none', '-o', log]
  const node = [process.execPath, '--conditions=nodekeep-source', program, data]
  const { NODE_OPTIONS: _ofTap, ...env } = process.env
  await promisify(execFile)('strace', [...options, ...node], { env: { ...env, UV_USE_IO_URING: '0' } })

  const seen: string[] = []
  const restored = /\/(state\.sqlite|plugins|files\/[0-9a-f-]{36}|identity\/node\.key)$/
  replay(readFileSync(log, 'utf8'), data, (disk, event, path) => {
    const check = (name: string, lost: readonly string[]) => {
      seen.push(name)
      t.strictSame(lost, [], name)
    }
    const checkWhole = (name: string, ...paths: string[]) =>
      check(
        name,
        paths.flatMap((one) => disk.lostOf(one)),
      )
    const inside = (at: string) => [...(disk.at(at)?.names?.keys() ?? [])].map((name) => join(at, name))
    const restores = [join(data, 'restore'), join(data, 'files/.nodekeep/restore')].flatMap(inside)
    const fresh = restores.map((one) => join(one, 'new')).filter((one) => disk.at(one) !== undefined)
    // Files that the node itself has not synced do not concern a restore.
    const previous = restores
      .flatMap((one) => inside(join(one, 'previous')))
      .flatMap((one) => [one, ...(one.endsWith('identity') ? inside(one) : [])])
      .flatMap((one) => disk.lostAbove(one))
    const isOfRestores = /\/(previous|new)\//.test(path)
    if (event === 'rename' && path === join(data, 'restore/plan.json')) checkWhole('plan', ...fresh)
    if (event === 'rename' && restored.test(path) && !isOfRestores) check('place', previous)
    // Plugins note later that they have acted on it.
    const isPlanned = disk.at(join(data, 'restore/plan.json')) !== undefined
    if (event === 'rename' && path === join(data, 'restore/applied.json') && isPlanned) {
      check('applied', previous)
      checkWhole('applied', ...['plugins', 'identity/node.key'].map((one) => join(data, one)))
    }
    if (event === 'unlink' && path === join(data, 'restore/plan.json'))
      checkWhole('end', join(data, 'restore/applied.json'))
    if (event === 'mkdir' && path === join(data, 'mark-made')) checkWhole('made', join(data, 'backups'))
    if (event === 'mkdir' && path === join(data, 'mark-planned'))
      checkWhole('planned', join(data, 'restore/plan.json'), ...fresh)
  })
  for (const name of ['made', 'plan', 'planned', 'place', 'applied', 'end']) t.ok(seen.includes(name), name)
})
