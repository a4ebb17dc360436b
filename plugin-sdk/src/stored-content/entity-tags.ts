/** Returns the entity tags of a list, such as `if-none-match` (RFC 9110, section 8.8.3), with their quotes. Weak ones have `W/` in front. */
export function entityTags(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}

/** Whether `if-none-match` names a strong tag, by the weak comparison that it demands (RFC 9110, section 13.1.2). `*` names any. */
export function namesTag(list: string, tag: string): boolean {
  return list.trim() === '*' || entityTags(list).some((other) => other.replace(/^W\//, '') === tag)
}
