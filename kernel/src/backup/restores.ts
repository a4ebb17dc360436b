import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import {
  conflict,
  invalid,
  lockFolder,
  messageOf,
  type NodeFolder,
  type NodeRestores,
  type Restored,
  type RestoredState,
  type RestoreMove,
  type RestorePlan,
} from '@nodekeep/plugin-sdk'
import {
  draftOf,
  makeFolderSync,
  readJsonSync,
  syncFolderSync,
  writeJsonSync,
} from '@nodekeep/plugin-sdk/durable-files'
import { MountPoints } from './mount-points.ts'

/** A plan as its file holds it. */
interface StoredPlan {
  readonly format: 1
  readonly backup: string
  /** The time of the backup's state. */
  readonly moment: string
  readonly moves: readonly RestoreMove[]
  /** Set before the first move is made. Until then, nothing was changed. */
  readonly hasBegun?: true
}

/** The last restore that was applied, and the plugins that have acted on it. */
interface AppliedRestore {
  readonly backup: string
  /** The time of the backup's state. */
  readonly moment: string
  readonly acknowledgedBy: readonly string[]
}

/** Returns whether a restore waits for the next start of the node. */
export function isRestorePlanned(dataFolder: string): boolean {
  return existsSync(planFile(dataFolder))
}

/** The installed kernel and plugins, as far as the configuration enables them. */
interface InstalledNode {
  /** The version of the kernel. */
  readonly version: string
  /** Finds the folders that plugins keep outside of their own. */
  folders(): Promise<readonly NodeFolder[]>
  plugins(): Promise<RestoredState['plugins']>
}

/** The last restore that was applied. No other one is applied while the node runs. */
export class LastRestore {
  readonly #file: string
  #applied: AppliedRestore

  constructor(file: string, applied: AppliedRestore) {
    this.#file = file
    this.#applied = applied
  }

  /** Returns the restore for a plugin that has not acted on it; `null` for another one. */
  restored(plugin: string): Restored | null {
    const { backup, moment, acknowledgedBy } = this.#applied
    if (acknowledgedBy.includes(plugin)) return null
    return { backup, takenAt: new Date(moment), acknowledge: async () => this.#acknowledge(plugin) }
  }

  #acknowledge(plugin: string): void {
    const { acknowledgedBy } = this.#applied
    if (acknowledgedBy.includes(plugin)) return
    const acknowledged = { ...this.#applied, acknowledgedBy: [...acknowledgedBy, plugin] }
    writeJsonSync(this.#file, acknowledged)
    this.#applied = acknowledged
  }
}

/**
 * Reads the last restore that was applied; `null` if there was none.
 *
 * @throws Error with one line for a person
 */
export function readLastRestore(dataFolder: string): LastRestore | null {
  const file = appliedFile(dataFolder)
  try {
    const applied = readApplied(file)
    return applied === null ? null : new LastRestore(file, applied)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(
      `The record of the last restore is damaged: ${file}. If the node has run since that restore, move this file to another place, then start the node. Otherwise some plugins have not acted on the restore: restore the backup again: nodekeep backup restore FILE`,
      { cause: error },
    )
  }
}

/** @throws SyntaxError if the file is damaged */
function readApplied(file: string): AppliedRestore | null {
  const applied = readJsonSync<AppliedRestore>(file)
  if (applied === null || (typeof applied.backup === 'string' && Array.isArray(applied.acknowledgedBy)))
    return applied
  throw new SyntaxError('It is not the record of a restore.')
}

/** Returns the name of the last backup that was applied. A damaged record counts as none: the next start says what to do about it. */
function appliedBackup(dataFolder: string): string | null {
  try {
    return readApplied(appliedFile(dataFolder))?.backup ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Plans restores of a node, which may not run. */
export function restoresOf(dataFolder: string, installed: InstalledNode): NodeRestores {
  let found: Promise<readonly NodeFolder[]> | undefined
  return {
    async state() {
      const planned = readPlan(planFile(dataFolder))?.backup ?? null
      const applied = appliedBackup(dataFolder)
      // A start that was killed between its last two steps leaves both. The next one makes the last step.
      return { planned, applied: applied === planned ? null : applied }
    },
    folders() {
      found ??= installed.folders().catch((error) => {
        found = undefined
        throw error
      })
      return found
    },
    plugins: () => installed.plugins(),
    async migrateState(state) {
      // Restores are rare.
      const { migrateRestoredState } = await import('./migrate-restored-state.ts')
      const { version } = installed
      await migrateRestoredState(dataFolder, state, { version, plugins: await installed.plugins() })
    },
    plan: async (plan) => planRestore(dataFolder, plan),
    cancel: async () => undoPlannedRestore(dataFolder),
  }
}

/** Stores a plan. See `plan` of the service `Restores`. */
export function planRestore(dataFolder: string, { backup, takenAt, moves: planned }: RestorePlan): void {
  const file = planFile(dataFolder)
  if (readPlan(file)?.hasBegun === true) {
    throw conflict(
      'A restore is not complete yet. Start the node, which completes it, or take it back: nodekeep backup restore --cancel',
    )
  }
  const moves = planned.flatMap(withLogs)
  checkPaths(file, moves)
  const mounts = new MountPoints()
  for (const move of moves) checkMove(move, mounts)
  writeJsonSync(file, { format: 1, backup, moment: takenAt.toISOString(), moves } satisfies StoredPlan)
}

/**
 * Applies a planned restore. The caller holds the lock of the data folder and has opened nothing in it. It begins only if
 * everything is there that it needs. When it is interrupted, the next call goes on where it stopped: first everything that is in the
 * way goes, then the restored content takes its place, and each step is on the disk before the next one begins.
 *
 * @returns the name of the backup, `null` when no restore was planned
 * @throws Error with one line for a person
 */
export function applyPlannedRestore(dataFolder: string): string | null {
  const file = planFile(dataFolder)
  const plan = readPlan(file)
  try {
    // A process that was killed while it planned leaves a draft.
    rmSync(draftOf(file), { force: true })
    if (plan === null) return null
    const { backup, moment, moves } = plan
    using _folders = lockFolders(moves)
    if (plan.hasBegun !== true) {
      for (const move of moves) checkBegin(move)
      writeJsonSync(file, { ...plan, hasBegun: true } satisfies StoredPlan)
    }
    for (const move of moves) takeAway(move)
    syncFolders(moves)
    for (const move of moves) putInPlace(move)
    syncFolders(moves)
    writeJsonSync(appliedFile(dataFolder), { backup, moment, acknowledgedBy: [] } satisfies AppliedRestore)
    removeDurably(file)
    return backup
  } catch (error) {
    throw new Error(
      `The restore planned in ${file} cannot be applied: ${messageOf(error)}. Mend the cause and start again, or take the restore back: nodekeep backup restore --cancel. Nothing is lost meanwhile.`,
      { cause: error },
    )
  }
}

/**
 * Takes a plan back. If a start was interrupted or has failed while it applied the plan, everything goes back to where it was. When
 * this is interrupted, the next call goes on, and a start applies the plan.
 *
 * @returns the name of the backup, `null` when no restore was planned
 * @throws Error with one line for a person
 */
function undoPlannedRestore(dataFolder: string): string | null {
  const file = planFile(dataFolder)
  const plan = readPlan(file)
  if (plan === null) return null
  try {
    if (plan.hasBegun === true) {
      using _folders = lockFolders(plan.moves)
      undoMoves(dataFolder, plan)
    }
    removeDurably(file)
    return plan.backup
  } catch (error) {
    throw new Error(
      `The restore planned in ${file} cannot be taken back: ${messageOf(error)}. Mend the cause and try again. Nothing is lost meanwhile.`,
      { cause: error },
    )
  }
}

function undoMoves(dataFolder: string, { backup, moves }: StoredPlan): void {
  for (const move of moves) checkUndo(move)
  // The record is the last step of a restore. It would tell plugins of this one.
  const isApplied = moves.some(({ from }) => from !== null && !isThere(from))
  if (isApplied && appliedBackup(dataFolder) === backup) removeDurably(appliedFile(dataFolder))
  for (const move of moves) takeOutAgain(move)
  syncFolders(moves)
  for (const move of moves) bringBack(move)
  syncFolders(moves)
}

/** A folder of a storage may be in use by another node, which has the same one in its configuration. */
function lockFolders(moves: readonly RestoreMove[]): Disposable {
  const locks = new DisposableStack()
  for (const folder of new Set(moves.map(({ to }) => dirname(to)))) {
    const lock = lockFolder(folder)
    if (lock === null) {
      locks.dispose()
      throw new Error(`another node uses ${folder}`)
    }
    locks.use(lock)
  }
  return locks
}

/** Since the planning, a disk may have gone, or somebody may have removed the restored content. */
function checkBegin({ from, to, previous }: RestoreMove): void {
  if (from !== null && !isThere(from)) throw new Error(`${from} is missing, so nothing was changed`)
  if (isThere(to) && isThere(previous))
    throw new Error(`there is something at ${to} and at ${previous} already, so nothing was changed`)
}

/** Another program may have made a file or a folder again that was taken away. */
function checkUndo({ from, to, previous }: RestoreMove): void {
  const isRestored = from !== null && !isThere(from)
  if (isRestored || !isThere(to) || !isThere(previous)) return
  throw new Error(
    `there is something at ${to} again, whose former content is at ${previous}. Move what is at ${to} to another place`,
  )
}

function takeAway({ from, to, previous }: RestoreMove): void {
  const isDone = from !== null && !isThere(from)
  if (isDone || !isThere(to)) return
  if (isThere(previous)) throw new Error(`there is something at ${to} and at ${previous} already`)
  makeFolderSync(dirname(previous))
  renameSync(to, previous)
}

function putInPlace({ from, to }: RestoreMove): void {
  if (from === null || !isThere(from)) {
    if (from !== null && !isThere(to)) throw new Error(`${from} is missing`)
    return
  }
  makeFolderSync(dirname(to))
  renameSync(from, to)
}

/** Undoes {@link putInPlace}. */
function takeOutAgain({ from, to }: RestoreMove): void {
  if (from !== null && !isThere(from) && isThere(to)) renameSync(to, from)
}

/** Undoes {@link takeAway}. */
function bringBack({ to, previous }: RestoreMove): void {
  if (isThere(previous) && !isThere(to)) renameSync(previous, to)
}

/** The write-ahead log of the former database would be applied to the restored one. */
function withLogs(move: RestoreMove): RestoreMove[] {
  if (!move.to.endsWith('.sqlite')) return [move]
  const logs = ['-wal', '-shm'].map((suffix) => {
    return { from: null, to: move.to + suffix, previous: move.previous + suffix }
  })
  return [move, ...logs]
}

/**
 * Refuses paths that depend on the folder of the next start, and paths within each other: a move would take along what another
 * one, or the rest of the restore, still needs.
 */
function checkPaths(plan: string, moves: readonly RestoreMove[]): void {
  const paths = moves.flatMap(({ from, to, previous }) =>
    from === null ? [to, previous] : [from, to, previous],
  )
  for (const path of paths) if (!isAbsolute(path)) throw invalid(`${path} is not an absolute path.`)
  // In this order, everything below a folder follows it at once.
  const sorted = [...paths, plan].map((path) => resolve(path) + sep).sort()
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next?.startsWith(path))
      throw invalid(`${next.slice(0, -1)} is in the plan twice, or is within ${path.slice(0, -1)}.`)
  }
}

function checkMove({ from, to, previous }: RestoreMove, mounts: MountPoints): void {
  if (from !== null && !isThere(from)) throw invalid(`${from} does not exist.`)
  if (isThere(previous)) throw invalid(`${previous} exists already.`)
  const places = [from, isThere(to) ? to : existingParent(to), existingParent(previous)].flatMap((path) =>
    path === null ? [] : `${lstatSync(path).dev} ${mounts.above(path)}`,
  )
  if (new Set(places).size === 1) return
  throw invalid(
    `${to} cannot be replaced by a rename: it is a mount point, or on another file system than what is to replace it. Mount the folder above it instead, then restore again.`,
  )
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return isThere(parent) || parent === path ? parent : existingParent(parent)
}

function syncFolders(moves: readonly RestoreMove[]): void {
  const folders = moves.flatMap(({ from, to, previous }) =>
    [from ?? to, to, previous].map((path) => dirname(path)),
  )
  for (const folder of new Set(folders)) if (isThere(folder)) syncFolderSync(folder)
}

/** @throws Error with one line for a person */
function readPlan(file: string): StoredPlan | null {
  let plan: StoredPlan | null
  try {
    plan = readJsonSync<StoredPlan>(file)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(
      `The plan of a restore is damaged: ${file}. Delete this file, then restore the backup again: nodekeep backup restore FILE. If a start had begun with the restore, the former data is in the folder "previous" of the restore in ${dirname(file)}, and in .nodekeep/restore of each storage. It stays there until you run: nodekeep backup forget-previous`,
      { cause: error },
    )
  }
  if (plan !== null && plan.format !== 1)
    throw new Error(`A newer version of Nodekeep has planned a restore: ${file}. Start that version.`)
  return plan
}

function planFile(dataFolder: string): string {
  return join(dataFolder, 'restore', 'plan.json')
}

function appliedFile(dataFolder: string): string {
  return join(dataFolder, 'restore', 'applied.json')
}

/** Removes a file so that it stays away, also after a power cut. */
function removeDurably(file: string): void {
  rmSync(file)
  syncFolderSync(dirname(file))
}

/** Unlike `existsSync`, it sees a symbolic link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
