// An address of this campaign's own pages: on a server of many, they lie below the campaign's name.
export const here = (path) => new URL(`..${path}`, import.meta.url).href;
