import type { Plugin } from '@nodekeep/plugin-sdk'
import type { Activation } from './activation.ts'
import type { Accountable } from './attribution.ts'
import { messageOf, type PluginFailure, type PluginPhase } from './failure.ts'
import type { PluginManifest } from './manifest.ts'

/**
 * - `disabled`: switched off, by configuration or at run time
 * - `blocked`: something that it needs is missing; the reason says what
 * - `active`: it works
 * - `degraded`: it works, but left something behind that shouldn't be; the reason says what
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
export class PluginRecord implements Accountable {
  readonly wish: PluginWish
  readonly #onFault: (record: PluginRecord, thrown: unknown) => void
  manifest: PluginManifest | null = null
  plugin: Plugin | null = null
  activation: Activation | null = null
  #state: PluginState = 'stopped'
  #phase: PluginPhase | null = null
  #reason: string | null = null

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
    return this.#phase
  }

  /** Why it is not simply active, for people. */
  get reason(): string | null {
    return this.#reason
  }

  get isUp(): boolean {
    return this.#state === 'active' || this.#state === 'degraded'
  }

  /** Whether it may be set up: imported, and neither switched off nor failed. */
  get isCandidate(): boolean {
    return this.plugin !== null && this.#state === 'stopped'
  }

  active(): void {
    this.#become('active', null, null)
  }

  degraded(reason: string): void {
    this.#become('degraded', 'run', reason)
  }

  disabled(reason: string): void {
    this.#become('disabled', null, reason)
  }

  blocked(reason: string): void {
    this.#become('blocked', null, reason)
  }

  failed(failure: PluginFailure): void {
    this.#become('failed', failure.phase, failure.message)
  }

  stopped(): void {
    this.#become('stopped', null, null)
  }

  faulted(thrown: unknown): void {
    this.#onFault(this, thrown)
    const fault = `It left an error unhandled: ${messageOf(thrown)}`
    if (this.isUp) this.degraded(fault)
    else this.activation?.faulted(fault)
  }

  #become(state: PluginState, phase: PluginPhase | null, reason: string | null): void {
    this.#state = state
    this.#phase = phase
    this.#reason = reason
  }
}
