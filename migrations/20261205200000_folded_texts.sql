-- Lists are searched by texts without case and accents: `jose muller` finds José Müller. The words that are searched for are folded by the same
-- function, so both sides agree. The indexes of searches are made again with it, once it is there, without blocking anybody
-- (src/kernel/migrations/text_indexes.rs).

create function folded(written text) returns text language sql immutable parallel safe
    return case
        -- Plain ASCII, which nearly all of it is.
        when octet_length(written) = char_length(written) then lower(written)
        else lower(translate(
            replace(replace(replace(replace(replace(
                regexp_replace(normalize(written, NFD), '[\u0300-\u036f]', '', 'g'),
                'ß', 'ss'), 'æ', 'ae'), 'Æ', 'ae'), 'œ', 'oe'), 'Œ', 'oe'),
            'ØøŁłĐđĦħŦŧı', 'oollddhhtti'
        ))
    end;
comment on function folded(text) is 'A text as searches compare it: in lower case, without accents, and with plain letters for those that have none.';
