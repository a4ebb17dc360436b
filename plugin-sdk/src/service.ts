/** Carries a type without a value, so that a token can be matched against what it stands for. */
declare const carried: unique symbol

/**
 * The identity of a service: one implementation at a time, chosen by configuration where there are several.
 *
 * Two tokens are the same service when `id` and `major` agree, so that two copies of a package still meet.
 */
export interface Service<T> {
  readonly kind: 'service'
  readonly id: string
  readonly major: number
  readonly [carried]?: T
}

/** The identity of a registry: many named entries, added by any number of plugins. */
export interface Registry<T> {
  readonly kind: 'registry'
  readonly id: string
  readonly major: number
  readonly [carried]?: T
}

/** Takes something back. Calling it again does nothing. */
export type Disposer = () => void

/**
 * The reading side of a registry: a live view, complete from `onStart` on.
 *
 * Entries of a plugin appear when it becomes active and go when it stops. Look entries up when you need them
 * rather than keeping them.
 */
export interface RegistryReader<T> extends Iterable<readonly [name: string, entry: T]> {
  get(name: string): T | undefined
  has(name: string): boolean
  /** The names of all entries, in the order in which they were added. */
  names(): string[]
  /** Calls the listener after entries came or went. The kernel takes it back when your plugin stops. */
  onChange(listener: () => void): Disposer
}

/** The writing side of a registry. */
export interface RegistryWriter<T> {
  /**
   * Adds an entry under a name that is free. It becomes visible when your plugin is active, and the kernel
   * takes it back when your plugin stops.
   *
   * @param name 1 to 256 characters without "/", since it may stand in an address
   * @throws NodekeepError CONFLICT when the name is taken; the message says by which plugin. TypeError for what is no name
   * or no entry.
   */
  add(name: string, entry: T): Disposer
}

/** What a plugin may name in `requires` and `optional`. */
export type Requirement = Service<unknown> | Registry<unknown>

/** Names of a plugin's own choice, each for a token. */
export type RequirementMap = Readonly<Record<string, Requirement>>
/** Services under names of a plugin's own choice: what it may name in `provides`. */
export type ServiceMap = Readonly<Record<string, Service<unknown>>>
/** Registries under names of a plugin's own choice: what it may name in `contributes`. */
export type RegistryMap = Readonly<Record<string, Registry<unknown>>>

/** What a requirement gives: the service itself, or the reading side of the registry. */
export type Required<R> =
  R extends Registry<infer T> ? RegistryReader<T> : R extends Service<infer T> ? T : never

/** What a contribution gives: the writing side of the registry. */
export type Contributed<R> = R extends Registry<infer T> ? RegistryWriter<T> : never

/** What a plugin owes for a service that it provides. */
export type Provided<R> = R extends Service<infer T> ? T : never

/**
 * Names a service.
 *
 * @param id lower case words joined by dashes, for example `acme-geocoder`
 * @param major raised with every change that breaks those who use the service; another major is another service
 */
export function defineService<T>(id: string, major: number): Service<T> {
  return Object.freeze({ kind: 'service', id: checkedId(id), major })
}

/** Names a registry. The parameters are those of {@link defineService}. */
export function defineRegistry<T>(id: string, major: number): Registry<T> {
  return Object.freeze({ kind: 'registry', id: checkedId(id), major })
}

/** The string under which a token is known everywhere: `id@major`. */
export function tokenKey(token: { readonly id: string; readonly major: number }): string {
  return `${token.id}@${token.major}`
}

/** Tells whether a text can be the id of a plugin, a service or a registry: lower case words joined by dashes. */
export function isId(text: string): boolean {
  return /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(text)
}

/** @throws TypeError when the value is not an id */
export function checkedId(id: string): string {
  if (typeof id !== 'string' || !isId(id)) {
    throw new TypeError(
      `"${id}" is not an id: use lower case words joined by dashes, such as "acme-geocoder".`,
    )
  }
  return id
}
