/** Carries a type without a value, so that TypeScript knows the type behind a token. */
declare const carried: unique symbol

/**
 * The identity of a service. A service has one implementation at a time, which the configuration chooses if several
 * plugins provide it.
 *
 * Two tokens are the same service when `id` and `major` are equal, so two copies of a package share it.
 */
export interface Service<T> {
  readonly kind: 'service'
  readonly id: string
  readonly major: number
  readonly [carried]?: T
}

/** The identity of a registry. Any number of plugins add named entries to it. */
export interface Registry<T> {
  readonly kind: 'registry'
  readonly id: string
  readonly major: number
  /** See {@link EntryCheck}. */
  check?(entry: T): string | null
  readonly [carried]?: T
}

/**
 * Checks an entry of a registry when a plugin adds it, since a plugin in JavaScript is not held to types.
 *
 * @param entry anything but null and undefined
 * @returns what is wrong with the entry, to complete the sentence "The entry …": `has no method "find"`. `null` if nothing is.
 */
export type EntryCheck<T> = (entry: T) => string | null

/** The names of the methods of a type, also of the optional ones. */
export type MethodName<T> = {
  [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => unknown ? K & string : never
}[keyof T]

/** Undoes something. A second call does nothing. */
export type Disposer = () => void

/**
 * The reading side of a registry: a live view, which is complete from `onStart` on.
 *
 * The entries of a plugin appear when it becomes active and disappear when it stops. Look entries up when you need them;
 * do not store them.
 */
export interface RegistryReader<T> extends Iterable<readonly [name: string, entry: T]> {
  get(name: string): T | undefined
  has(name: string): boolean
  /** The names of all entries, in the order in which they were added. */
  names(): string[]
  /** The id of the plugin that added an entry: the id under which the configuration loads it. */
  ownerOf(name: string): string | undefined
  /** Calls the listener after entries were added or removed. The kernel removes the listener when your plugin stops. */
  onChange(listener: () => void): Disposer
}

/** The writing side of a registry. */
export interface RegistryWriter<T> {
  /**
   * Adds an entry under a free name. The entry becomes visible when your plugin is active, and the kernel removes it when
   * your plugin stops.
   *
   * @param name 1 to 256 characters without "/", since it may be part of a URL
   * @throws NodekeepError CONFLICT when the name is taken; the message names the plugin that has it. TypeError when the
   * name is not valid, or the registry's check refuses the entry.
   */
  add(name: string, entry: T): Disposer
}

/** A token that a plugin may name in `requires` and `optional`. */
export type Requirement = Service<unknown> | Registry<unknown>

/** Tokens under names that the plugin chooses. */
export type RequirementMap = Readonly<Record<string, Requirement>>
/** Services under names that the plugin chooses, for `provides`. */
export type ServiceMap = Readonly<Record<string, Service<unknown>>>
/** Registries under names that the plugin chooses, for `contributes`. */
export type RegistryMap = Readonly<Record<string, Registry<unknown>>>

/** The value behind a requirement: the service itself, or the reading side of the registry. */
export type Required<R> =
  R extends Registry<infer T> ? RegistryReader<T> : R extends Service<infer T> ? T : never

/** The value behind a contribution: the writing side of the registry. */
export type Contributed<R> = R extends Registry<infer T> ? RegistryWriter<T> : never

/** The implementation that a plugin returns for a service. */
export type Provided<R> = R extends Service<infer T> ? T : never

/**
 * Defines a service.
 *
 * @param id lower case words joined by dashes, for example `acme-geocoder`
 * @param major incremented with every breaking change; another major is another service
 */
export function defineService<T>(id: string, major: number): Service<T> {
  return Object.freeze({ kind: 'service', id: checkedId(id), major })
}

/**
 * Defines a registry. The first parameters are those of {@link defineService}.
 *
 * @param check refuses wrong entries where they are added. Without it, an entry can be anything.
 * @example
 * export const Geocoders = defineRegistry<Geocoder>('acme-geocoders', 1, (geocoder) => lackingMethod(geocoder, 'find'))
 */
export function defineRegistry<T>(id: string, major: number, check?: EntryCheck<T>): Registry<T> {
  return Object.freeze({ kind: 'registry', id: checkedId(id), major, ...(check !== undefined && { check }) })
}

/** Names the first of some methods that an object lacks, in the words of an `EntryCheck`; `null` if it has all of them. */
export function lackingMethod<T extends object>(
  entry: T,
  ...methods: readonly MethodName<T>[]
): string | null {
  const lacking = methods.find((name) => typeof entry[name] !== 'function')
  return lacking === undefined ? null : `has no method "${lacking}"`
}

/** Returns the key of a token: `id@major`. */
export function tokenKey(token: { readonly id: string; readonly major: number }): string {
  return `${token.id}@${token.major}`
}

/** Tells whether a text can be the id of a plugin, a service or a registry: lower case words joined by dashes. */
export function isId(text: string): boolean {
  return /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(text)
}

/** @throws TypeError when the value is not an id */
export function checkedId(id: string): string {
  if (typeof id !== 'string') {
    throw new TypeError(
      `An id must be a text, such as "acme-geocoder". This one is of the type ${typeof id}.`,
    )
  }
  if (!isId(id)) {
    throw new TypeError(
      `"${id}" is not an id: use lower case words joined by dashes, such as "acme-geocoder".`,
    )
  }
  return id
}
