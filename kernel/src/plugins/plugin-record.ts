import type { Plugin } from '@nodekeep/plugin-sdk'
import { messageOf } from '../errors/thrown.ts'
import { type FaultOwner, wasMadeIn } from '../faults/fault-context.ts'
import type { Activation } from './activation.ts'
import { PluginFailure, type PluginPhase } from './failure.ts'
import type { PluginManifest } from './manifest.ts'

/**
 * - `disabled`: switched off, by configuration or at run time
 * - `blocked`: something that it needs is missing; the reason says what
 * - `active`: it works
 * - `degraded`: it works, but left an error unhandled; the reason says which
 * - `failed`: it threw or was late; phase and reason say where and why
 * - `stopped`: not started yet, or stopped with the node
 */
export type PluginState = 'disabled' | 'blocked' | 'active' | 'degraded' | 'failed' | 'stopped'

/** How configuration wants a plugin. */
export interface PluginWish {
  readonly id: string
  readonly enabled: boolean
  /** Whether the node may do without it. */
  readonly required: boolean
  readonly from: string | null
  readonly folder: string
  /** Where configuration says so, such as `config/default.json:12`. */
  readonly where: string
}

/** One plugin of the node, under the id that configuration gives it. */
export class PluginRecord implements FaultOwner {
  readonly wish: PluginWish
  readonly #onFault: (record: PluginRecord, thrown: unknown) => void
  manifest: PluginManifest | null = null
  plugin: Plugin | null = null
  #activation: Activation | null = null
  #state: PluginState = 'stopped'
  #failure: PluginFailure | null = null
  #reason: string | null = null
  /** An error that nobody handled, left before it was up. */
  #fault: PluginFailure | null = null
  #hasLived = false

  constructor(wish: PluginWish, onFault: (record: PluginRecord, thrown: unknown) => void) {
    this.wish = wish
    this.#onFault = onFault
    if (!wish.enabled) this.disabled(`switched off by ${wish.where}`)
  }

  get id(): string {
    return this.wish.id
  }

  get state(): PluginState {
    return this.#state
  }

  /** Where it failed; `null` unless it did. */
  get phase(): PluginPhase | null {
    return this.#state === 'failed' || this.#state === 'degraded' ? (this.#failure?.phase ?? null) : null
  }

  /** Why it is not simply active, for people. */
  get reason(): string | null {
    return this.#reason
  }

  /** What went wrong, with its cause. A plugin that is disabled may have failed to load. */
  get failure(): PluginFailure | null {
    return this.#failure
  }

  /** The life that it has now, from the beginning of its setup to the end of its stop. */
  get activation(): Activation | null {
    return this.#activation
  }

  get isUp(): boolean {
    return this.#state === 'active' || this.#state === 'degraded'
  }

  /** Whether it may be set up: imported, and neither switched off nor failed. */
  get isCandidate(): boolean {
    return this.plugin !== null && this.#state === 'stopped'
  }

  /** Whether an error was made by code in the plugin's package. */
  isOriginOf(thrown: unknown): boolean {
    const folder = this.manifest?.folder
    return folder !== undefined && folder !== '' && wasMadeIn(folder, thrown)
  }

  begins(activation: Activation): void {
    this.#activation = activation
    // What an earlier life left behind is not this one's fault.
    if (this.#hasLived) this.#fault = null
    this.#hasLived = true
  }

  ends(): void {
    this.#activation = null
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

  /** It could not be loaded, but is switched off anyway. */
  notLoaded(failure: PluginFailure): void {
    this.#failure = failure
  }

  stopped(): void {
    this.#become('stopped', null)
  }

  faulted(thrown: unknown): void {
    this.#onFault(this, thrown)
    const fault = new PluginFailure('run', `It left an error unhandled: ${messageOf(thrown)}`, thrown)
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
