import { messageOf, type Plugin } from '@nodekeep/plugin-sdk'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import type { SectionClaim } from '../configuration/sections.ts'
import { stackOf } from '../errors/error-text.ts'
import { changedGlobals } from '../faults/changed-globals.ts'
import {
  type FaultKind,
  type FaultOwner,
  frameIn,
  originOf,
  placeIn,
  runInContextOf,
} from '../faults/fault-context.ts'
import { PluginFailure, type PluginPhase } from './failure.ts'
import type { PluginManifest } from './plugin-manifest.ts'

/**
 * - `disabled`: switched off, by configuration or at run time
 * - `blocked`: a service that it needs is missing; the reason names the service
 * - `active`: it works
 * - `degraded`: it works, but left an error unhandled; the reason names the error
 * - `failed`: it threw or exceeded a time limit; phase and reason say where and why
 * - `stopped`: not started yet, or stopped with the node
 */
export type PluginState = 'disabled' | 'blocked' | 'active' | 'degraded' | 'failed' | 'stopped'

/** Called for each fault of a plugin. */
export type OnFault = (record: { readonly id: string }, thrown: unknown, kind: FaultKind) => void

/** Returns the sentence about a plugin that affects all others, or ends the program. */
export function faultSentence(
  plugin: string,
  thrown: unknown,
  kind: 'exit' | 'change',
  program: string,
): string {
  const fault = kind === 'exit' ? `ends the ${program}:` : 'affects all others.'
  return `The plugin "${plugin}" ${fault} ${messageOf(thrown)}`
}

/** One plugin of the node, under the id that the configuration gives it. */
export class PluginRecord implements FaultOwner {
  readonly entry: PluginEntry
  readonly #onFault: OnFault
  /** The manifest of its package, once the package is found. A plugin that an embedding program passed has none. */
  manifest: PluginManifest | null = null
  /** The definition that its module exports, once the module is imported. */
  plugin: Plugin | null = null
  /** Another text if another version of the plugin ran last. It is known before the setup. */
  generation = ''
  #state: PluginState = 'stopped'
  #failure: PluginFailure | null = null
  #reason: string | null = null
  /** An unhandled error from before the plugin was up. */
  #fault: PluginFailure | null = null
  #wasSetUp = false

  constructor(entry: PluginEntry, onFault: OnFault) {
    this.entry = entry
    this.#onFault = onFault
    if (!entry.enabled) this.disabled(`switched off by ${entry.where}`)
  }

  get id(): string {
    return this.entry.id
  }

  /** The configuration section that it reads. */
  get claim(): SectionClaim {
    const { id, manifest } = this
    return { plugin: id, section: manifest?.section ?? id }
  }

  get state(): PluginState {
    return this.#state
  }

  /** The phase in which it failed; `null` in other states. */
  get phase(): PluginPhase | null {
    return this.#state === 'failed' || this.#state === 'degraded' ? (this.#failure?.phase ?? null) : null
  }

  /** The reason for its state, for people; `null` when it is active or stopped. */
  get reason(): string | null {
    return this.#reason
  }

  /** The error with its cause. A disabled plugin may have one, if it could not be loaded. */
  get failure(): PluginFailure | null {
    return this.#failure
  }

  /** Whether it is known, at least by its package. */
  get isFound(): boolean {
    return this.manifest !== null || this.plugin !== null
  }

  /** The folder of its package; an empty text if it has none, or is not found. */
  get folder(): string {
    return this.manifest?.folder ?? ''
  }

  get isUp(): boolean {
    return this.#state === 'active' || this.#state === 'degraded'
  }

  /** Whether it should be up but is not, or is degraded. */
  get isImpaired(): boolean {
    return this.#state !== 'active' && this.#state !== 'disabled'
  }

  /** Whether it may be set up: imported, and neither switched off nor failed. */
  get isCandidate(): boolean {
    return this.plugin !== null && this.#state === 'stopped'
  }

  /** Call it before each setup. Errors of an earlier activation no longer count. */
  settingUp(): void {
    if (this.#wasSetUp) this.#fault = null
    this.#wasSetUp = true
  }

  active(): void {
    if (this.#fault === null) this.#become('active', null)
    else this.#degraded(this.#fault)
  }

  disabled(reason: string): void {
    this.#become('disabled', reason)
  }

  blocked(reason: string): void {
    this.#become('blocked', reason)
  }

  failed(failure: PluginFailure): void {
    this.#become('failed', failure.message, failure)
  }

  /** Keeps the reason why a plugin could not be loaded that is switched off anyway. */
  notLoaded(failure: PluginFailure): void {
    this.#failure = failure
  }

  stopped(): void {
    this.#become('stopped', null)
  }

  /** Runs a phase of the plugin in its fault context. Then it names what the plugin has changed for all code of the process. */
  async run<T>(phase: () => Promise<T>): Promise<T> {
    try {
      return await runInContextOf(this, phase)
    } finally {
      for (const change of changedGlobals()) this.#onFault(this, new Error(change), 'change')
    }
  }

  /** Takes a fault from the plugin's context. An error of another plugin's code, such as of an entry, goes to that plugin. */
  faulted(thrown: unknown, kind: FaultKind): void {
    const origin = originOf(thrown, this) ?? this
    if (origin !== this) {
      origin.faulted(thrown, kind)
      return
    }
    this.#onFault(this, thrown, kind)
    if (kind === 'exit') return
    const reason = `It left an error unhandled: ${messageOf(thrown)}${placeIn(this.folder, thrown)}`
    const fault = new PluginFailure('run', reason, thrown)
    if (this.isUp) this.#degraded(fault)
    else this.#fault ??= fault
  }

  #degraded(fault: PluginFailure): void {
    this.#become('degraded', fault.message, fault)
  }

  #become(state: PluginState, reason: string | null, failure: PluginFailure | null = null): void {
    this.#state = state
    this.#reason = reason
    this.#failure = failure
  }
}

/** All plugins of a node, in the order of the configuration. The list is empty until they are loaded. */
export class PluginRecords {
  #all: readonly PluginRecord[] = []

  /** Sets the list, once the plugins are loaded. */
  loaded(records: readonly PluginRecord[]): void {
    this.#all = records
  }

  get all(): readonly PluginRecord[] {
    return this.#all
  }

  get(id: string): PluginRecord | undefined {
    return this.#all.find((record) => record.id === id)
  }

  /** Returns the plugin with the innermost frame on the stack of an error. A package within another one wins over it. */
  originOf(thrown: unknown, context?: FaultOwner): FaultOwner | undefined {
    const stack = stackOf(thrown)
    const found = this.#all.flatMap((record) => {
      const { folder } = record
      const frame = frameIn(folder, stack)
      return frame === null ? [] : [{ record, folder, depth: frame.depth }]
    })
    found.sort((a, b) => a.depth - b.depth || b.folder.length - a.folder.length)
    // One package may be loaded under several ids.
    const same = found.filter(({ folder }) => folder === found[0]?.folder)
    const isContext = context !== undefined && same.some(({ record }) => record.id === context.id)
    return isContext ? context : found[0]?.record
  }

  /** The ids of the plugins that the configuration enables and that are not up, also those that are switched off at run time. */
  get absent(): string[] {
    return this.#all.filter(({ entry, isUp }) => entry.enabled && !isUp).map(({ id }) => id)
  }

  /** The plugins that should be up but are not, or are degraded. */
  get impaired(): PluginRecord[] {
    return this.#all.filter((record) => record.isImpaired)
  }
}
